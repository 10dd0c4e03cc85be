import { name, twice } from "./helper";
console.log(name, twice(4));
