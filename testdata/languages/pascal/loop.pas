program Endless;
begin
  while True do;
end.
