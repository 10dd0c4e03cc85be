setTimeout(() => console.log('awake'), 60000);
