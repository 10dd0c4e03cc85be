unit Other;

interface

const
  Text = 'from another file';

implementation

end.
