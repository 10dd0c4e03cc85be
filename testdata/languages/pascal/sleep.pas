program Asleep;
uses
  SysUtils;
begin
  Sleep(60000);
end.
