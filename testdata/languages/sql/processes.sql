.mode list
create table must (ok integer check (ok), what text);
.once |cat >through.txt
select 'through';
.shell exit 0
.system test "$(cat through.txt)" = through && echo again >again.txt
insert into must values (cast(readfile('again.txt') as text) = 'again' || char(10), 'shell');
select 'processes ok';
