new Buffer(3); process.binding('util'); require('url').parse('http://a'); require('punycode');
