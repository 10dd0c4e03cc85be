int seven();
