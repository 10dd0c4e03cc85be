console.log('top'); return; console.log('not reached');
