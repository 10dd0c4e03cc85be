console.log(__filename, __dirname, process.argv, process.execArgv, require.main === module);
