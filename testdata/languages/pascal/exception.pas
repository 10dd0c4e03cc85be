program Exceptional;
{$mode objfpc}
uses
  SysUtils;
begin
  WriteLn('before');
  raise Exception.Create('boom');
end.
