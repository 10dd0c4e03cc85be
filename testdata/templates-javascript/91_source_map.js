process.setSourceMapsEnabled(true); console.log(process.sourceMapsEnabled); throw new Error('mapped');
