program Child;
{$mode objfpc}
uses
  Process;
var
  said: AnsiString;
begin
  if not RunCommand('/bin/echo', ['from a child'], said) then
    Halt(1);
  Write(said);
end.
