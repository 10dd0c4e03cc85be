program Main;
uses
  Other;
begin
  WriteLn('7 ', Text);
end.
