kill 'ABRT', $$;
sleep 1;
