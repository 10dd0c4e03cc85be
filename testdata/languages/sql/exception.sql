select 'before';
select * from boom;
