.read other.sql
select seven || ' ' || text from other;
