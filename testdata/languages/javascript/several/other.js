exports.text = 'from another file';
