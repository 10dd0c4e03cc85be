with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000) select max(x) from c;
