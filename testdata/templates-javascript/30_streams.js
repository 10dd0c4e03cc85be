process.stdout.write('a'); process.stderr.write('b'); console.log(process.stdout.writable, process.stdout.isTTY, process.stdout._type, process.stdout.fd, process.stderr.fd, process.stdout.writableHighWaterMark);
process.stdout.write('c\n', () => console.error('flushed'));
console.log(process.stdout.constructor.name, process.stdin.constructor.name, process.stdin.fd);
