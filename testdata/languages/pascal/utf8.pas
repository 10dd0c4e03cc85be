program Utf8;
var
  line: AnsiString;
begin
  WriteLn('grün 日本 😀');
  ReadLn(line);
  WriteLn(line);
end.
