require('./nothing');
