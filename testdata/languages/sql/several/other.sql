create table other (seven integer, text text);
insert into other values (7, 'from another file');
