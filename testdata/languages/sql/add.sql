create table numbers (a integer, b integer);
.mode csv
.separator " "
.import /dev/stdin numbers
select a + b from numbers;
