try { require('left-pad'); } catch (e) { console.log(e.code, e.message, e.requireStack); } import('nope').catch(e => console.log(e.code, e.message));
