console.log('a'); null.x;
