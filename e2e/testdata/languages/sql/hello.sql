select 'hello, world';
