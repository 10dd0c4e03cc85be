kill SEGV => $$; sleep 5;
