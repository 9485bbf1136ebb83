import{a,b}from"./part-2Y7JRSQ2.js";import"./part-5WXA4RLB.js";import"./part-AYHZPDM5.js";export{a as RunTable,b as Runs};
