import{a,b}from"./part-Z3RGY6QZ.js";import"./part-HIPN6ETL.js";import"./part-AYHZPDM5.js";export{a as RunTable,b as Runs};
