import{a,b}from"./part-7OXCF5TE.js";import"./part-4VYUNV6N.js";import"./part-MPXJ6TZV.js";import"./part-AYHZPDM5.js";export{b as Meter,a as Now};
