import{a,b}from"./part-PRDGUKKZ.js";import"./part-2Y7JRSQ2.js";import"./part-5WXA4RLB.js";import"./part-AYHZPDM5.js";export{b as Meter,a as Now};
