#!/usr/bin/env node
console.log('ok', new Error('l').stack.split('\n')[1]);
