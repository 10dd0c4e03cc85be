create table lines (line text);
.mode list
.separator "\t"
.import /dev/stdin lines
select 'grün 日本 😀';
select line from lines where length(line) = 13;
