import{a,b}from"./part-4VYUNV6N.js";import"./part-MPXJ6TZV.js";import"./part-AYHZPDM5.js";export{a as RunTable,b as Runs};
