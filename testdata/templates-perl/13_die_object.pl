package E; sub new { bless {} } package main;
die E->new;
