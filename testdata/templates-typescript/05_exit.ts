enum Code { Good, Bad = 4 }
process.on("exit", (c: number) => console.log("exit", c));
process.exit(Code.Bad);
