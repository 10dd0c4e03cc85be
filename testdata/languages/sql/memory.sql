create table kept (x blob);
with recursive c(x) as (select 1 union all select x + 1 from c) insert into kept select randomblob(1000000) from c;
