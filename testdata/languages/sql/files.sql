.mode list
create table must (ok integer check (ok), what text);
insert into must values (writefile('a.txt', 'hello') = 5, 'write');
insert into must values (cast(readfile('a.txt') as text) = 'hello', 'read');
create table made as select writefile('d/e', null, 0x41ed), writefile('d/soft', '../a.txt', 0xa1ff);
insert into must select count(*) = 3, 'list' from fsdir('d');
.output seen.txt
select 'seen';
.output
insert into must values (cast(readfile('seen.txt') as text) = 'seen' || char(10), 'output');
.save copy.db
.open copy.db
insert into must select count(*) = 4, 'saved' from must;
.output /dev/null
pragma journal_mode = wal;
.output
begin;
insert into must values (1, 'in a transaction');
rollback;
insert into must select count(*) = 5, 'rolled back' from must;
attach 'other.db' as other;
create table other.t as select * from must;
insert into must select count(*) = 6, 'attached' from other.t;
vacuum;
select 'files ok';
