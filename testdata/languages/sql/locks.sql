.open shared.db
create table must (ok integer check (ok), what text);
begin immediate;
insert into must values (1, 'locked');
.shell sqlite3 -batch shared.db "insert into must values (1, 'never')" 2>said.txt || echo refused >refused.txt
commit;
insert into must values (cast(readfile('said.txt') as text) like '%database is locked%', 'said');
insert into must values (cast(readfile('refused.txt') as text) like 'refused%', 'refused');
insert into must select count(*) = 3, 'counted' from must;
select 'locks ok';
