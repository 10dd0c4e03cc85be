process.stdin.setEncoding('utf8'); let s = ''; process.stdin.on('data', d => s += d).on('end', () => console.log(JSON.stringify(s)));
