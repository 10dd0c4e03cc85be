const x = await 5; console.log(x);
