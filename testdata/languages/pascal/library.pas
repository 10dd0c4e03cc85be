program Library_;
{$mode objfpc}{$H+}
uses
  SysUtils, Classes, RegExpr, fpjson, jsonparser;
var
  data: TJSONData;
  regex: TRegExpr;
  name: string;
  lines: TStringList;
begin
  data := GetJSON('[1,2]');
  WriteLn('json ', data.Items[0].AsInteger + data.Items[1].AsInteger);
  data.Free;

  regex := TRegExpr.Create('\d{4}');
  if regex.Exec('the year 2026, I think') then
    WriteLn('regex ', regex.Match[0]);
  regex.Free;

  Randomize;
  if Random < 1 then
    WriteLn('random ok');

  name := GetTempFileName;
  lines := TStringList.Create;
  lines.Add('ok');
  lines.SaveToFile(name);
  lines.LoadFromFile(name);
  WriteLn('temp ', lines[0]);
  lines.Free;
  DeleteFile(name);
end.
