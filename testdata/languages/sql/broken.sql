select 'before';

selec 'never printed';
