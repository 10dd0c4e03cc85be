program Hello;
begin
  WriteLn('hello, world');
end.
