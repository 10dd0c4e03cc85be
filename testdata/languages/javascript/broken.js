console.log('never printed');

const x = = 1;
