program Broken;
begin
  WriteLn(missing);
end.
