select 'json ' || sum(value) from json_each('[1, 2]');
select 'regex ' || value from json_each('["the", "year", "2026"]') where value regexp '^[0-9]{4}$';
select 'big ' || decimal(decimal_pow2(100));
select 'random ' || iif(abs(random() % 6) < 6, 'ok', 'bad');
create temp table kept (text);
insert into kept values ('ok');
select 'temp ' || text from kept;
