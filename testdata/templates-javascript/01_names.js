console.log(__filename, __dirname, require.main === module, module.id, module.paths);
console.log(process.argv, process.argv0, process.execPath, process.execArgv, process.title);
