exports.name = __filename; exports.argv = process.argv.slice(2); exports.parent = module.parent && module.parent.filename;
