program Memory;
var
  p: Pointer;
begin
  while True do
  begin
    GetMem(p, 1000000);
    FillChar(p^, 1000000, 'x');
  end;
end.
