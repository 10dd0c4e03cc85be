console.log(JSON.stringify(require('fs').readFileSync(0, 'utf8')), require('fs').readFileSync('/dev/stdin').length);
